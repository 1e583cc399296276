import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** First Node with everything that the server needs (Argon2id in node:crypto). */
export const MINIMUM_NODE = '24.7.0'

/**
 * Chooses the Node that runs Palisade: the running one if it is new enough, else the installed
 * package; null without either.
 *
 * @param {string} root
 * @param {{ version: string, path: string, arch: string }} running
 * @returns {string | null}
 */
export function chooseNode(root, running) {
  if (isAtLeast(running.version, MINIMUM_NODE)) return running.path
  const bundled = join(root, 'node_modules', `node-linux-${running.arch}`, 'bin', 'node')
  return existsSync(bundled) ? bundled : null
}

/**
 * Compares two versions `major.minor.patch`; ignores text after the patch.
 *
 * @param {string} version
 * @param {string} minimum
 */
export function isAtLeast(version, minimum) {
  const have = numbersOf(version)
  const need = numbersOf(minimum)
  for (const [index, wanted] of need.entries()) {
    const found = have[index] ?? 0
    if (found !== wanted) return found > wanted
  }
  return true
}

/** @param {string} version */
function numbersOf(version) {
  return version.split('.', 3).map((part) => Number.parseInt(part, 10))
}
