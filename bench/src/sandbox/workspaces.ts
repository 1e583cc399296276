import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { addLoopbackRule } from '../machine/loopback-rule.ts'
import type { Machine } from '../machine/machine.ts'

/** Name inside a sandbox for the loopback of the machine. */
export const LOOPBACK_NAME = 'host.sandbox.internal'

/** The directories in which commands run, by their use. */
export interface Workspaces {
  readonly empty: string
  readonly raw: string
  readonly peers: string
  readonly requests: string
}

/** Makes the workspaces and adds the rules that open them. */
export async function makeWorkspaces(machine: Machine, folder: string): Promise<Workspaces> {
  const root = join(folder, 'workspaces')
  const make = (name: string): string => {
    mkdirSync(join(root, name), { recursive: true })
    return join(root, name)
  }
  // The first policy has rules of the network, until another one has a lower id.
  await addLoopbackRule(machine, [LOOPBACK_NAME])
  const { policies, rules } = machine.organization
  const { id } = await policies.create({ name: 'files' })
  await rules.add(id, {
    name: 'workspaces',
    decision: 'allow',
    actions: ['read', 'write'],
    resources: [`${root}/**`],
  })
  return {
    empty: make('empty'),
    raw: make('raw'),
    peers: make('peers'),
    requests: make('requests'),
  }
}
