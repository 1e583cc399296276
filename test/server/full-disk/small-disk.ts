import { execFileSync } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import { makeMountPoint } from '../../mount-point.ts'

/** Only root can mount a disk. */
export const isRoot = process.getuid?.() === 0

/** Mounts a small disk in memory until the end of the test. */
export function mountDisk(size: string): string {
  const disk = makeMountPoint()
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', disk])
  onTestFinished(() => {
    // Lazily, because a stopping server still has files open.
    execFileSync('umount', ['--lazy', disk])
  })
  return disk
}

/** Uses up all free space. */
export function fill(path: string): void {
  const file = openSync(path, 'w')
  for (const size of [65_536, 4096, 1]) while (hasRoomFor(file, size));
  closeSync(file)
}

function hasRoomFor(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}
