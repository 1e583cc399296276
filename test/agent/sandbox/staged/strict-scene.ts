import type { StagedChange, StagedResult } from '@palisade/protocol'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { RuleLine } from '../../fixture/bundle.ts'
import { startSandboxMachine, type SandboxMachine } from '../fixture/machine.ts'
import { opened } from './opened-project.ts'

export interface StrictScene extends SandboxMachine {
  /** Absolute path of a name in the project. */
  at(name: string): string
  /** Writes files of the project, each with its own name as content. */
  put(...names: readonly string[]): void
  /** Runs a line of shell in a strict sandbox without applying; resolves with its id. */
  stage(line: string): Promise<string>
  show(id: string): Promise<StagedResult>
  apply(id: string): Promise<StagedResult>
}

/** A machine with an open project in which strict sandboxes run. */
export async function strictScene(...denies: readonly RuleLine[]): Promise<StrictScene> {
  const machine = await startSandboxMachine((project) => opened(project, ...denies))
  const { project, sandboxes } = machine
  const at = (name: string): string => join(project, name)
  return {
    ...machine,
    at,
    put(...names) {
      for (const name of names) {
        mkdirSync(dirname(at(name)), { recursive: true })
        writeFileSync(at(name), name)
      }
    },
    async stage(line) {
      const ended = await machine.run(['--strict', '--', 'sh', '-c', line])
      if (ended.code !== 0) throw new Error(`the command failed: ${JSON.stringify(ended)}`)
      const { sessions } = await sandboxes.staged.list()
      const id = sessions.at(-1)?.id
      if (id === undefined) throw new Error('no changes were kept')
      return id
    },
    show: (id) => sandboxes.staged.show({ id }),
    apply: (id) => sandboxes.staged.apply({ id }),
  }
}

/** The verdicts by path from the project on. */
export function verdicts({ changes }: StagedResult, project: string): Record<string, string> {
  const entry = ({ path, verdict }: StagedChange): [string, string] => [
    relative(project, path),
    verdict,
  ]
  return Object.fromEntries(changes.map(entry))
}

/** The reason for one path. */
export function reasonOf({ changes }: StagedResult, path: string): string | null {
  return changes.find((change) => change.path === path)?.reason ?? null
}
