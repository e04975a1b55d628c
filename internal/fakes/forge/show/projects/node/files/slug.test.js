import test from "node:test";
import assert from "node:assert/strict";
import { slug } from "./slug.js";

test("words are joined", () => assert.equal(slug("Hello world"), "hello-world"));
test("no dash at the end", () => assert.equal(slug("Hello, world!"), "hello-world"));
