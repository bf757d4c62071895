import { render } from 'preact';
import { App } from './app';
import { connect } from './state.js';

render(<App />, document.getElementById('page')!);
connect();
