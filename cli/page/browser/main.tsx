import { render } from 'preact';
import { App } from './app.js';
import { connect } from './state.js';

render(<App />, document.getElementById('page')!);
void connect();
