// The page of who is not signed in.
import { useEffect, useState } from "preact/hooks";
import { look } from "../state/look";
import { href, param } from "../state/route";
import { ended, identify, signIn, trouble } from "../state/session";
import { Logo } from "./logo";

export function SignIn() {
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const isAway = trouble.value !== "sign in";
  useEffect(() => {
    if (!isAway) return;
    const timer = setInterval(() => void identify(), 5000);
    return () => clearInterval(timer);
  }, [isAway]);
  if (isAway) {
    return (
      <main class="sign-in">
        <h1><Logo /> {look.title}</h1>
        <div class="trouble" role="alert"><p>{trouble.value}</p><p class="actions"><button onClick={() => void identify()}>Try again</button>{param("namespace") && <a href={href("/", { namespace: undefined })}>Go to your own namespace</a>}</p></div>
      </main>
    );
  }
  const submit = async (e: Event) => {
    e.preventDefault();
    try {
      await signIn(token.trim());
    } catch (problem) {
      setError((problem as Error).message);
    }
  };
  return (
    <main class="sign-in">
      <h1><Logo /> {look.title}</h1>
      <form class="card form" onSubmit={(e) => void submit(e)}>
        {ended.value && <p class="note">You were signed in, and the server does not take that credential any more: it has ended, or was of another server, such as of “holdfast dev” before it was started again.</p>}
        <label>
          Token or API key
          <input type="password" value={token} required autocomplete="current-password" onInput={(e) => setToken(e.currentTarget.value)} />
          <small>The token of the server (HOLDFAST_TOKEN), an API key, or a token of your identity provider. <code>holdfast dev</code> prints a link that signs you in.</small>
        </label>
        {error && <p class="bad" role="alert">{error}</p>}
        <button class="solid" type="submit">Sign in</button>
      </form>
    </main>
  );
}
