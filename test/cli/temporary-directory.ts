import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeDirectory } from '../remove-directory.ts'

export interface TemporaryDirectory extends AsyncDisposable {
  readonly path: string
  /** Writes a file and returns its name, relative to the directory. */
  write(name: string, content: unknown): Promise<string>
}

/** A directory that is removed at the end of the `await using` block. */
export async function temporaryDirectory(): Promise<TemporaryDirectory> {
  const path = await mkdtemp(join(tmpdir(), 'palisade-cli-'))
  return {
    path,
    async write(name, content) {
      const raw = typeof content === 'string' || content instanceof Uint8Array
      await writeFile(join(path, name), raw ? content : JSON.stringify(content))
      return name
    },
    [Symbol.asyncDispose]: async () => removeDirectory(path),
  }
}
