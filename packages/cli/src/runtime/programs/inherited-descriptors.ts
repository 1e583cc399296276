import { closeSync, readdirSync, readFileSync } from 'node:fs'

const DESCRIPTORS = '/proc/self/fdinfo'
const STANDARD_ERROR = 2
/** `O_CLOEXEC`, which Node sets on its own descriptors and on the lowest of those it was given. */
const CLOSED_ON_EXECUTION = 0o2000000

/**
 * Closes the descriptors above 2 that this process was started with, so that a program which
 * replaces it does not get them: an editor or a shell may have left a private file open. Linux
 * only; throws the system's error elsewhere.
 */
export function closeInheritedDescriptors(): void {
  for (const name of readdirSync(DESCRIPTORS)) {
    const fd = Number(name)
    if (fd > STANDARD_ERROR && isInherited(fd)) closeSync(fd)
  }
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\t(\d+)$/m.exec(readFileSync(`${DESCRIPTORS}/${fd}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_ON_EXECUTION) === 0
  } catch {
    // The descriptor of the listing itself is closed meanwhile.
    return false
  }
}
