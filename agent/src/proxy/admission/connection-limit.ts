/** Requests and tunnels at once; a session alone gets 10,752 of them. */
const MAX_CONNECTIONS = 12_288

/** Descriptors for other uses: files, the local API, and clients that wait. */
const SPARED = 512
/** A tunnel holds one for each side. */
const DESCRIPTORS_EACH = 2
const MIN_CONNECTIONS = 16

/**
 * The number of requests and tunnels at once that the open file limit of this process allows.
 * `limits` is the text of proc_pid_limits(5), or null where there is none.
 */
export function chooseConnectionLimit(limits: string | null): number {
  const soft = /^Max open files\s+(\d+)/m.exec(limits ?? '')?.[1]
  if (soft === undefined) return MAX_CONNECTIONS
  const fitting = Math.floor((Number(soft) - SPARED) / DESCRIPTORS_EACH)
  return Math.max(MIN_CONNECTIONS, Math.min(MAX_CONNECTIONS, fitting))
}
