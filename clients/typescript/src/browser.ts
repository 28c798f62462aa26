// The entry point for browsers. It throws, because this package must not be used there.
import { BrowserRefused } from "./errors.js";

throw new BrowserRefused();
