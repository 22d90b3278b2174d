// A part of the page that fails says so, and leaves the rest to be used.
import { Component, type ComponentChildren } from "preact";

export class Fence extends Component<{ children: ComponentChildren }, { error: Error | null }> {
  override state = { error: null as Error | null };
  static override getDerivedStateFromError(error: Error) {
    return { error };
  }
  override render() {
    if (!this.state.error) return this.props.children;
    return <div class="trouble" role="alert"><strong>This part of the page has failed</strong><p>{this.state.error.message}</p><button onClick={() => this.setState({ error: null })}>Try again</button></div>;
  }
}
