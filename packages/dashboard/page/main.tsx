import './page.css';
import { render } from 'preact';
import { App } from './app.tsx';
import { follow } from './store.ts';

const root = document.getElementById('page');
if (root !== null) {
  let begun = false;
  follow((state) => {
    if (!begun) root.replaceChildren();
    begun = true;
    render(<App state={state} />, root);
  });
}
