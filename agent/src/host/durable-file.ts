import { randomBytes } from 'node:crypto'
import { open, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

const INFIX = '.tmp-'

/**
 * Resolves when the file is complete and durable. A crash before that leaves the former file, and
 * perhaps a temporary one.
 */
export async function writeDurably(file: string, content: string | Uint8Array): Promise<void> {
  const temporary = join(
    dirname(file),
    `${basename(file)}${INFIX}${randomBytes(8).toString('hex')}`,
  )
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
  } catch (error) {
    // A failed removal must not hide why the write failed.
    await unlink(temporary).catch(() => {})
    throw error
  }
  await syncDirectory(dirname(file))
}

/** Whether `name` is a temporary file left by a crash. */
export function isLeftover(name: string): boolean {
  return name.includes(INFIX)
}

/**
 * The rename itself must reach the disk (fsync(2), "calling fsync() does not necessarily ensure…").
 */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
