import { closeInheritedDescriptors } from '../programs/inherited-descriptors.ts'

/**
 * Replaces this process with another program, with an empty environment and no descriptor but the
 * standard ones, so that no Node process stays beside the command. Linux only. Returns only by an
 * exception.
 */
export function become(program: string, words: readonly string[]): never {
  closeInheritedDescriptors()
  if (process.execve === undefined) throw new Error('this Node cannot replace its process')
  return process.execve(program, [program, ...words], {})
}
