// What a bundler takes for a browser: it can only say why not.
import { BrowserRefused } from "./errors.js";

throw new BrowserRefused();
