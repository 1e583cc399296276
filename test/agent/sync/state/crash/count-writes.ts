import fs from 'node:fs'
import fsPromises, { open, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

type Call = (this: unknown, ...args: unknown[]) => unknown

const CHANGES = ['mkdir', 'mkdtemp', 'rename', 'rm', 'unlink', 'writeFile', 'open']
const SYNC_CHANGES = ['writeFileSync', 'renameSync', 'unlinkSync', 'mkdirSync', 'rmSync']
const HANDLE_CHANGES = ['writeFile', 'sync']

export interface WriteStep {
  readonly name: string
  /** The file or directory that changes. */
  readonly path: string
  /** Performs the first half of a write; has no effect for other steps. */
  readonly halve: () => Promise<void>
}

/**
 * From now on calls `onStep` before each change that this process makes to its disk, and awaits the
 * result. The agent's code does not notice. Returns a function that undoes it.
 */
export async function countWrites(
  directory: string,
  onStep: (step: WriteStep) => Promise<void> | undefined,
): Promise<() => void> {
  const undo: (() => void)[] = []
  const paths = new WeakMap<object, string>()
  const halve = async (): Promise<void> => {}

  const replace = (target: object, name: string, make: (former: Call) => Call): void => {
    const former = Reflect.get(target, name) as Call
    const define = (value: Call): void =>
      void Object.defineProperty(target, name, { value, writable: true, configurable: true })
    define(make(former))
    undo.push(() => define(former))
  }

  // Opened before the functions are replaced.
  const prototype = await handlePrototype(directory)
  for (const name of CHANGES)
    replace(fsPromises, name, (former) => async (...args) => {
      const path = String(args[0])
      await onStep({ name, path, halve })
      const done = await former.apply(fsPromises, args)
      if (typeof done === 'object' && done !== null) paths.set(done, path)
      return done
    })
  for (const name of SYNC_CHANGES)
    replace(fs, name, (former) => (...args) => {
      if (onStep({ name, path: String(args[0]), halve }) !== undefined) throw new Error('dead')
      return former.apply(fs, args)
    })
  for (const name of HANDLE_CHANGES)
    replace(prototype, name, (former) => {
      return async function (this: unknown, ...args) {
        const [content] = args
        const path = typeof this === 'object' && this !== null ? (paths.get(this) ?? '') : ''
        await onStep({
          name: `handle.${name}`,
          path,
          halve: async () => {
            if (typeof content === 'string' || content instanceof Uint8Array)
              await former.call(this, content.slice(0, content.length / 2))
          },
        })
        return former.apply(this, args)
      }
    })
  syncBuiltinESMExports()
  return () => {
    for (const back of undo) back()
    syncBuiltinESMExports()
  }
}

/** Node does not export the class `FileHandle`. */
async function handlePrototype(directory: string): Promise<object> {
  const probe = join(directory, 'probe')
  await writeFile(probe, '')
  const handle = await open(probe, 'r')
  const prototype: object = Object.getPrototypeOf(handle)
  await handle.close()
  await rm(probe)
  return prototype
}
