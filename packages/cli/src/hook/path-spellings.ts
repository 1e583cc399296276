import { realpath } from 'node:fs'
import { readlink } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { systemCode } from '../runtime/system-error.ts'

/** The native call alone follows links before `..`, as the kernel does. */
const readRealPath = promisify(realpath.native)

/** Number of links that the kernel follows. */
const MAX_LINKS = 40

/**
 * Every path that a host may mean by `written`, each absolute and without `..`: as a program
 * normalizes it, and as the kernel resolves its symbolic links. `~` at the start is read as the
 * home directory too. A file that does not exist yet has the real path of its directory. Null when
 * there is no telling.
 */
export async function pathSpellings(
  written: string,
  { cwd, home }: { readonly cwd: string | null; readonly home: string },
): Promise<readonly string[] | null> {
  const texts = /^~(?=\/|$)/.test(written) ? [written, `${home}${written.slice(1)}`] : [written]
  const found = new Set<string>()
  for (const text of texts) {
    if (text.includes('\0') || (!isAbsolute(text) && (cwd === null || !isAbsolute(cwd))))
      return null
    const raw = isAbsolute(text) ? text : `${cwd}/${text}`
    const plain = resolve(raw)
    found.add(plain)
    for (const each of new Set([raw, plain])) {
      const real = await realPathOf(each)
      if (real === null) return null
      found.add(real)
    }
  }
  return [...found]
}

/** Null when links cannot be followed, for example because they form a loop. */
async function realPathOf(path: string, maxLinks = MAX_LINKS): Promise<string | null> {
  try {
    return await readRealPath(path)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT' || maxLinks === 0) return null
  }
  const parent = dirname(path)
  if (parent === path) return null
  const real = await realPathOf(parent, maxLinks)
  if (real === null) return null
  const joined = join(real, basename(path))
  // A link to a file that does not exist yet: a write creates the file there.
  const target = await readlink(joined).catch(() => null)
  if (target === null) return joined
  return realPathOf(isAbsolute(target) ? target : `${real}/${target}`, maxLinks - 1)
}
