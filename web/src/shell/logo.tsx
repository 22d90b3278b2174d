// The logo: that of the server, or that of Holdfast, a hold with a rope through it.
import { look } from "../state/look";

export function Logo() {
  if (look.logo) return <img class="logo" src={look.logo} alt="" />;
  return (
    <svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="12" cy="12" r="9" fill="none" stroke="currentColor" stroke-width="3" />
      <path d="M12 3v7M12 14v7" stroke="currentColor" stroke-width="3" stroke-linecap="round" />
      <circle cx="12" cy="12" r="2" fill="currentColor" />
    </svg>
  );
}
