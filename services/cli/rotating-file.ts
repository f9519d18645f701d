import {
  chmodSync,
  closeSync,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";

/** How large a log file may grow, in bytes, and how many full ones are kept beside it. */
export type RotationBounds = { maxBytes: number; keep: number };

export const usualBounds: RotationBounds = { maxBytes: 8 * 1024 * 1024, keep: 4 };

/**
 * A file of lines that makes room while it is written: at the bound its content moves to `<file>.1`, what was there to
 * `<file>.2`, and so on. Every line is written at once, so that a killed process loses none.
 *
 * The content is copied and the file emptied, instead of renamed: standard error of the process is the same file, and what
 * the system writes there at a crash has to land in it. Only the process that has the environment's folder may rotate it
 * ({@link bound}); whoever does not, appends.
 */
export class RotatingFile {
  readonly #path: string;
  #fd: number | null = null;
  #bounds: RotationBounds | null = null;
  /** Where it is tried next, when there was no room for a copy. */
  #nextAt = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** From now on this process alone rotates the file. Ends what a killed one had begun. */
  bound(bounds: RotationBounds): void {
    this.#bounds = bounds;
    this.#nextAt = bounds.maxBytes;
    finishRotation(this.#path);
    if (sizeOf(this.#path) >= bounds.maxBytes) this.#rotate();
  }

  /** One line with its end. A full disk loses it, not the environment. */
  write(line: string): void {
    try {
      const bytes = Buffer.from(line);
      const fd = this.#open();
      const size = fstatSync(fd).size;
      if (this.#bounds !== null && size > 0 && size + bytes.length > this.#nextAt) this.#rotate();
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    } catch {
      // Nowhere to say it.
    }
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  #open(): number {
    if (this.#fd !== null) return this.#fd;
    this.#fd = openSync(this.#path, "a+", 0o600);
    chmodSync(this.#path, 0o600);
    return this.#fd;
  }

  #rotate(): void {
    const { maxBytes, keep } = this.#bounds ?? usualBounds;
    const fd = this.#open();
    try {
      makeRoom(this.#path, keep);
      const copy = `${this.#path}.new`;
      copyFileSync(this.#path, copy);
      chmodSync(copy, 0o600);
      appendRest(fd, copy);
      renameSync(copy, `${this.#path}.1`);
      ftruncateSync(fd, 0);
      this.#nextAt = maxBytes;
    } catch {
      // No room for the copy: the file goes on growing, and it is tried again.
      rmSync(`${this.#path}.new`, { force: true });
      this.#nextAt = fstatSync(fd).size + Math.ceil(maxBytes / 8);
    }
  }
}

/** Moves the full files one on, as far as there is no gap, and drops those that are too many. */
function makeRoom(path: string, keep: number): void {
  let last = 1;
  while (sizeOf(`${path}.${last}`) >= 0 && last <= 1_000) last += 1;
  for (let n = last - 1; n >= 1; n -= 1) {
    if (n >= keep) rmSync(`${path}.${n}`, { force: true });
    else renameSync(`${path}.${n}`, `${path}.${n + 1}`);
  }
}

/** What standard error got while the copy was made. */
function appendRest(from: number, copy: string): void {
  const to = openSync(copy, "r+");
  try {
    for (let at = fstatSync(to).size; ; ) {
      const piece = Buffer.alloc(64 * 1024);
      const read = readSync(from, piece, 0, piece.length, at);
      if (read === 0) return;
      writeSync(to, piece, 0, read, at);
      at += read;
    }
  } finally {
    closeSync(to);
  }
}

/** A process that was killed after the copy and before the file was emptied left the same lines twice: they stay once. */
function finishRotation(path: string): void {
  rmSync(`${path}.new`, { force: true });
  const size = sizeOf(`${path}.1`);
  if (size <= 0 || sizeOf(path) < size || !beginsWith(path, `${path}.1`, size)) return;
  const fd = openSync(path, "r+");
  try {
    // What came after the copy stays; whoever writes here appends.
    const rest = Buffer.alloc(fstatSync(fd).size - size);
    const read = readSync(fd, rest, 0, rest.length, size);
    // In this order nothing is lost either when this is ended halfway.
    writeSync(fd, rest, 0, read, 0);
    ftruncateSync(fd, read);
  } finally {
    closeSync(fd);
  }
}

function beginsWith(path: string, beginning: string, size: number): boolean {
  const [one, other] = [openSync(path, "r"), openSync(beginning, "r")];
  try {
    const [a, b] = [Buffer.alloc(64 * 1024), Buffer.alloc(64 * 1024)];
    for (let at = 0; at < size; ) {
      const length = Math.min(a.length, size - at);
      const read = readSync(one, a, 0, length, at);
      if (read !== readSync(other, b, 0, length, at) || read === 0 || a.compare(b, 0, read, 0, read) !== 0) return false;
      at += read;
    }
    return true;
  } finally {
    closeSync(one);
    closeSync(other);
  }
}

/** -1 where there is no such file. */
const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? -1;
