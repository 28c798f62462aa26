// The entry point for browsers, where this package must not be used.
import { BrowserRefused } from "./errors.js";

throw new BrowserRefused();
