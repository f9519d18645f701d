import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "./environments.ts";

/** A certificate for loopback that is its own issuer, made by `openssl`, as files. Nobody trusts it yet. */
export function selfSigned(): { cert: string; key: string } {
  const dir = temporaryFolder();
  const [cert, key] = [join(dir, "cert.pem"), join(dir, "key.pem")];
  const names = "subjectAltName=DNS:localhost,DNS:box.example,IP:127.0.0.1";
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=ropewalk test"];
  execFileSync("openssl", ["req", "-x509", ...made, "-addext", names, "-keyout", key, "-out", cert], { stdio: "pipe" });
  return { cert, key };
}

/** Lets this process trust a certificate until the test is over. */
export function trust(cert: string): void {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, readFileSync(cert, "utf8")]);
  onTestFinished(() => setDefaultCACertificates(before));
}
