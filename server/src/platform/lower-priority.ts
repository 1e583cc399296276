import { getPriority, setPriority } from 'node:os'

const LOWEST = 19

/**
 * Lowers the priority of the calling thread, on Linux; other systems would lower that of the whole
 * server. The server may run at a lower one already, and only root may raise it.
 */
export function lowerPriority(niceness: number): void {
  if (process.platform === 'linux') setPriority(Math.min(getPriority() + niceness, LOWEST))
}
