#!/usr/bin/env node
// Plain old JavaScript without imports: any Node must get as far as being told that it is too old.
var needed = 24;
var found = parseInt(process.versions.node, 10);

if (found < needed) {
  console.error(
    "ropewalk needs Node " +
      needed +
      " or newer, this is " +
      process.version +
      "; run: npm i ropewalk node@" +
      needed +
      " && npx " +
      ["ropewalk"].concat(process.argv.slice(2)).join(" "),
  );
  process.exitCode = 2;
} else {
  // The package carries dist/ alone; a clone has the sources, and runs them as they are (Node strips their types).
  var path = require("node:path");
  keepCompiled(path.join(process.env.XDG_CACHE_HOME || path.join(require("node:os").homedir(), ".cache"), "ropewalk"));
  var source = path.join(__dirname, "..", "services", "cli", "main.ts");
  var program = require("node:fs").existsSync(source) ? source : path.join(__dirname, "..", "dist", "services", "cli", "main.js");
  import(require("node:url").pathToFileURL(program).href).catch(function (error) {
    console.error(error);
    process.exitCode = 1;
  });
}

// A command starts twice as fast from compiled code, kept in a folder of this user's own where nobody else can put any.
// A folder that cannot be made is done without.
function keepCompiled(folder) {
  var fs = require("node:fs");
  try {
    [require("node:path").dirname(folder), folder].forEach(function (each) {
      if (!fs.existsSync(each)) fs.mkdirSync(each, 448);
    });
    require("node:module").enableCompileCache(folder);
  } catch (_) {}
}
