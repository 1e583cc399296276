import { readFileSync, readdirSync } from 'node:fs'

export interface ProcessEntry {
  readonly pid: number
  /** As the kernel shortens it, to 15 bytes. */
  readonly name: string
}

/** A process and all its descendants, as far as they still run. Parents come first. */
export function treeOf(pid: number): ProcessEntry[] {
  const name = readOrNull(`/proc/${pid}/comm`)?.trimEnd()
  if (name === undefined) return []
  return [{ pid, name }, ...childrenOf(pid).flatMap(treeOf)]
}

function childrenOf(pid: number): number[] {
  const tasks = listOrEmpty(`/proc/${pid}/task`)
  return tasks.flatMap((task) => {
    const line = readOrNull(`/proc/${pid}/task/${task}/children`) ?? ''
    return line.split(' ').filter(Boolean).map(Number)
  })
}

/** Null for a process that has ended. */
function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    return nullIfEnded(error)
  }
}

function listOrEmpty(path: string): string[] {
  try {
    return readdirSync(path)
  } catch (error) {
    return nullIfEnded(error) ?? []
  }
}

function nullIfEnded(error: unknown): null {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ESRCH') return null
  throw error
}
