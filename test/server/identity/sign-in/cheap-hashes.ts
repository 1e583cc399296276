import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import type { AtEnd } from '../../temporary-directory.ts'

/**
 * Computes each Argon2 hash of this process at the least cost, until the end. For tests that make
 * many passwords: a stored hash still names the full cost, and its verification is as cheap.
 */
export function cheapenHashes(atEnd: AtEnd): void {
  const real = crypto.argon2
  crypto.argon2 = (algorithm, parameters, callback) =>
    real(algorithm, { ...parameters, memory: 8, passes: 1 }, callback)
  syncBuiltinESMExports()
  atEnd(() => {
    crypto.argon2 = real
    syncBuiltinESMExports()
  })
}
