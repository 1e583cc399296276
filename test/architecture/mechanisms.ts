import type { SourceFile } from './workspace.ts'

/** The rooms of the server that hold what bounds and speeds up all others. */
const ROOMS = /^server\/src\/(?:work|platform|workers)\//

/** Sources that have one of their own, each with its reason. */
const OWN: ReadonlySet<string> = new Set([
  // Attempts to sign in, and writes, by network and caller.
  'server/src/identity/limits/rate-limiter.ts',
  // Passwords are hashed two at a time.
  'server/src/identity/sign-in/password-queue.ts',
  // Readers of one revision share one answer.
  'server/src/governance/answers-in-flight.ts',
  // A compiled set is decided by in its thread.
  'server/src/governance/compilation/compiled-policies.ts',
  // Waiting machines, told of a new revision.
  'server/src/fleet/hint/waiting-room.ts',
  // Rows and targets that a store need not read again, and its readers.
  'server/src/store/sql/row-cache.ts',
  'server/src/store/sql/write-cache.ts',
  'server/src/store/sqlite/reading-pool.ts',
  'server/src/evidence/store/sql/writing-session.ts',
])

const NEW = /\bnew (?:LRUCache|Worker|PQueue|Piscina)\b|\bfork\(/
const MADE =
  /\bfunction create\w*(?:Queue|Cache|Turns|Budget|Limiter|Memory|Pool|InFlight|WaitingRoom)\b/

/** A new queue, cache, limiter or thread belongs to `work` or `platform`, and serves all rooms. */
export function strayMechanisms(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => path.startsWith('server/src/') && !ROOMS.test(path) && !OWN.has(path))
    .flatMap(({ path, text }) => {
      const found = NEW.exec(text) ?? MADE.exec(text)
      return found === null ? [] : [`${path}: has a mechanism of its own, \`${found[0]}\``]
    })
}
