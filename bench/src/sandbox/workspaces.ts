import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Machine } from '../agent/machine.ts'
import { openOrganization } from '../agent/organization.ts'
import { addLoopbackRule } from '../agent/tunnels/loopback-rule.ts'

export const DENY_PATTERNS = 50
/** Name inside a sandbox for the loopback of the machine. */
export const LOOPBACK_NAME = 'host.sandbox.internal'
const FILES_A_DIRECTORY = 100

/** The directories in which commands run, by their use. */
export interface Workspaces {
  readonly empty: string
  readonly raw: string
  readonly peers: string
  readonly requests: string
  readonly large: string
  readonly masks: string
  /** Below it, one for each of many sandboxes. */
  readonly many: string
}

/** File of the workspace `masks` that a rule denies. */
export const DENIED_FILE = 'settings/.env'

/**
 * Makes the workspaces and adds the rules that open them. Every second pattern denies one file of
 * the large workspace.
 */
export async function makeWorkspaces(
  machine: Pick<Machine, 'server' | 'owner'>,
  folder: string,
  files: number,
): Promise<Workspaces> {
  const root = join(folder, 'workspaces')
  const at = (name: string): string => join(root, name)
  const workspaces: Workspaces = {
    empty: at('empty'),
    raw: at('raw'),
    peers: at('peers'),
    requests: at('requests'),
    large: at('large'),
    masks: at('masks'),
    many: at('many'),
  }
  for (const path of Object.values(workspaces) as string[]) mkdirSync(path, { recursive: true })
  fillLarge(workspaces.large, files)
  mkdirSync(join(workspaces.masks, 'settings'))
  writeFileSync(join(workspaces.masks, DENIED_FILE), 'secret\n')
  // The first policy has rules of the network, until another one has a lower id.
  await addLoopbackRule(machine, [LOOPBACK_NAME])
  const { policies, rules } = openOrganization(machine)
  const { id } = await policies.create({ name: 'files' })
  await rules.add(id, {
    name: 'workspaces',
    decision: 'allow',
    actions: ['read', 'write'],
    resources: [`${root}/**`],
  })
  await rules.add(id, {
    name: 'secrets',
    decision: 'deny',
    actions: ['read'],
    resources: [join(workspaces.masks, DENIED_FILE), ...denyPatterns(workspaces.large)],
  })
  return workspaces
}

function denyPatterns(large: string): string[] {
  return Array.from({ length: DENY_PATTERNS }, (_, n) =>
    n % 2 === 0 ? `${large}/**/secret-${n}.pem` : `${large}/**/private-${n}/**`,
  )
}

function fillLarge(large: string, files: number): void {
  const secrets = DENY_PATTERNS / 2
  for (let n = 0; n < secrets; n += 1) writeFileSync(join(large, `secret-${n * 2}.pem`), 'secret\n')
  for (let n = 0; n < files - secrets; n += 1) {
    const directory = Math.floor(n / FILES_A_DIRECTORY)
    const path = join(large, `part-${directory % 10}`, `module-${directory}`)
    if (n % FILES_A_DIRECTORY === 0) mkdirSync(path, { recursive: true })
    writeFileSync(join(path, `file-${n}.ts`), '')
  }
}
