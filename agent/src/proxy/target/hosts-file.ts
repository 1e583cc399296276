import { canonicalAddress } from '@palisade/policy-core'
import { readFile, stat } from 'node:fs/promises'
import { systemErrorCode } from '../../host/errors.ts'

/** The system's own list of names. */
const HOSTS_FILE = '/etc/hosts'

/**
 * The addresses that the hosts file gives a canonical name; empty without such a file. Rejects when
 * the file cannot be read: its names must not be sent to name servers.
 */
export type FindListed = (name: string) => Promise<readonly string[]>

interface KnownText {
  /** Identifies the version of the file that was read. */
  readonly stamp: string
  /** In lower case. */
  readonly text: Promise<string>
}

/**
 * Reads the file once, and again after each change: a block list may have 100,000 lines, and a
 * hundred names may be looked up at once.
 */
export function createHostsFile(path: string = HOSTS_FILE): FindListed {
  let known: KnownText | null = null
  return async (name) => {
    const stamp = await stampOf(path)
    if (stamp === null) return []
    if (known?.stamp !== stamp) known = { stamp, text: readLower(path) }
    const { text } = known
    try {
      return findHostAddresses(await text, name)
    } catch (error) {
      if (known?.text === text) known = null
      throw error
    }
  }
}

async function stampOf(path: string): Promise<string | null> {
  try {
    const found = await stat(path, { bigint: true })
    return [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join()
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return null
    throw error
  }
}

async function readLower(path: string): Promise<string> {
  const text = await readFile(path, 'latin1')
  return text.toLowerCase()
}

/**
 * The canonical addresses of a canonical name in a lower-case hosts file, in file order; see
 * hosts(5). Parses only the lines that hold the name as a word.
 */
export function findHostAddresses(text: string, name: string): readonly string[] {
  // Most names are in no line, and this check is much faster than the expression.
  if (!text.includes(name)) return []
  const word = new RegExp(`(?<=\\s)${name.replaceAll('.', '\\.')}(?=[\\s#]|$)`, 'g')
  const found = new Set<string>()
  for (const { index } of text.matchAll(word)) {
    const line = text.slice(text.lastIndexOf('\n', index) + 1, index)
    const address = line.includes('#')
      ? null
      : canonicalAddress(line.trim().split(/\s/, 1)[0] ?? '')
    if (address !== null) found.add(address)
  }
  return [...found]
}
