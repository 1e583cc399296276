import { createRequire } from 'node:module'
import { join } from 'node:path'

/**
 * Loads a module of `bench/peers`. The peers have their own installation, because they are larger
 * than all other dependencies together. Returns null when they are not installed.
 */
export function requirePeer(specifier: string): unknown {
  const require: (specifier: string) => unknown = createRequire(
    join(import.meta.dirname, '..', '..', 'peers', 'package.json'),
  )
  try {
    return require(specifier)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null
    throw error
  }
}
