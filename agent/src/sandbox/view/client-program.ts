import { existsSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The command line of this installation. */
export interface ClientProgram {
  /** Real paths of Node and of the program. */
  readonly node: string
  readonly main: string
}

/** The command line as a view shows it. */
export interface ShownClient {
  /** The agent's script that starts it. */
  readonly script: string
  /** The paths that it needs. */
  readonly paths: readonly string[]
}

/** Finds the command line beside the agent. Null where it is not installed there. */
export function findClientProgram(): ClientProgram | null {
  const here = import.meta.url
  // This file, or a bundle in the folder of the agent.
  const root = here.endsWith('.cjs') ? '../..' : '../../../..'
  const main = fileURLToPath(new URL(`${root}/packages/cli/dist/palisade.cjs`, here))
  if (!existsSync(main)) return null
  return { node: realpathSync(process.execPath), main: realpathSync(main) }
}

/** The paths that a sandbox must see for it. The folder has no other files than the program's. */
export function pathsOfClient({ node, main }: ClientProgram): readonly string[] {
  return [node, dirname(main)]
}

/** The shell script that starts it under its name. */
export function clientScript({ node, main }: ClientProgram): string {
  return `#!/bin/sh\nexec ${quote(node)} ${quote(main)} "$@"\n`
}

function quote(path: string): string {
  return `'${path.replaceAll("'", String.raw`'\''`)}'`
}
