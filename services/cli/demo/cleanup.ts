/** What has to be taken away again, last made first. What is added after it was done is taken away at once. */
export class Cleanup {
  #open: (() => unknown)[] | null = [];

  add(undo: () => unknown): void {
    if (this.#open === null) void Promise.resolve(undo()).catch(() => {});
    else this.#open.push(undo);
  }

  /** Does all of it, also when a part fails. */
  async run(): Promise<void> {
    const open = this.#open ?? [];
    this.#open = null;
    for (const undo of open.reverse()) await Promise.resolve(undo()).catch(() => {});
  }
}
