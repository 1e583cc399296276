import { createRequire } from 'node:module'
import { join } from 'node:path'

/**
 * A module of `bench/peers`, which has an installation of its own: together these are larger than
 * everything that a tester needs. Null when they are not installed.
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
