import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { onTestFinished } from 'vitest'

/** Reports each Argon2 call of this process until the test ends. The real hash is computed. */
export function countSlowHashes(report: (parameters: string) => void): void {
  const real = crypto.argon2
  crypto.argon2 = (algorithm, parameters, callback) => {
    const { memory, passes, parallelism, tagLength } = parameters
    report(`${algorithm} m=${memory} t=${passes} p=${parallelism} ${tagLength}`)
    return real(algorithm, parameters, callback)
  }
  syncBuiltinESMExports()
  onTestFinished(() => {
    crypto.argon2 = real
    syncBuiltinESMExports()
  })
}
