import { randomBytes } from 'node:crypto'
import { open, readdir, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { readPrivateFile } from '../config/private-file.ts'

export type CacheEntry =
  | { readonly kind: 'none' }
  | { readonly kind: 'jws'; readonly jws: string }
  | { readonly kind: 'unreadable'; readonly message: string }

/** The last good bundle on disk, as the compact JWS that the server signed. */
export interface BundleCache {
  readonly file: string
  read(): Promise<CacheEntry>
  /** Durable and whole when it resolves; a crash in between leaves the former file. */
  write(jws: string): Promise<void>
  /** Moves the file out of the way; the new path, or null when even that failed. */
  setAside(nowMs: number): Promise<string | null>
}

export function createBundleCache(file: string, maxBytes: number): BundleCache {
  const directory = dirname(file)
  const temporaryPrefix = `${basename(file)}.tmp-`
  return {
    file,

    async read() {
      await removeLeftovers(directory, temporaryPrefix)
      const found = await readPrivateFile(file, maxBytes)
      if (found.ok) return { kind: 'jws', jws: found.text }
      return found.code === 'ENOENT'
        ? { kind: 'none' }
        : { kind: 'unreadable', message: `the cached bundle ${found.message}` }
    },

    async write(jws) {
      const temporary = join(directory, temporaryPrefix + randomBytes(8).toString('hex'))
      try {
        const handle = await open(temporary, 'wx', 0o600)
        try {
          await handle.writeFile(jws)
          await handle.sync()
        } finally {
          await handle.close()
        }
        await rename(temporary, file)
      } catch (error) {
        // Not to hide why the write failed.
        await unlink(temporary).catch(() => {})
        throw error
      }
      await syncDirectory(directory)
    },

    async setAside(nowMs) {
      const stamp = new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-')
      const target = `${file}.rejected-${stamp}`
      try {
        await rename(file, target)
        return target
      } catch {
        return null
      }
    },
  }
}

/** The rename itself must reach the disk (fsync(2), "calling fsync() does not necessarily ensure…"). */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** They take room and do no harm, so one that stays is no reason not to start. */
async function removeLeftovers(directory: string, prefix: string): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  for (const name of names) {
    if (name.startsWith(prefix)) await unlink(join(directory, name)).catch(() => {})
  }
}
