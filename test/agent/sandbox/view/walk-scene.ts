import { compilePolicy, pathDenies, runSteps } from '@palisade/policy-core'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createViewDisk, type ViewDisk } from '../../../../agent/src/sandbox/view/disk.ts'
import { guardedPaths } from '../../../../agent/src/sandbox/view/guarded-names.ts'
import type { WalkDeps } from '../../../../agent/src/sandbox/view/walk-deps.ts'
import { WALK_LIMITS, walkWorkspace } from '../../../../agent/src/sandbox/view/walk.ts'
import type { Workspace } from '../../../../agent/src/sandbox/view/workspace.ts'
import { policyOf, type RuleLine } from '../../fixture/bundle.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

export const disk = createViewDisk()

export async function tree(...paths: readonly string[]): Promise<string> {
  const root = disk.realPath(await temporaryDirectory()).toString('utf8')
  for (const path of paths) {
    const full = join(root, path)
    mkdirSync(path.endsWith('/') ? full : dirname(full), { recursive: true })
    if (!path.endsWith('/')) writeFileSync(full, path)
  }
  return root
}

export function walk(root: string, rules: readonly RuleLine[], options: WalkOptions = {}) {
  const workspace: Workspace = {
    path: root,
    access: options.access ?? 'rw',
    device: 0,
    inode: 0,
    aliases: options.aliases ?? [],
    mounted: options.mounted ?? new Map(),
  }
  const deps: WalkDeps = {
    disk: options.disk ?? disk,
    denies: pathDenies(compilePolicy({ policies: [policyOf(...rules)] })),
    guarded: guardedPaths(),
    isOpened: options.isOpened ?? (() => false),
    uptime: options.uptime ?? (() => 0),
    limits: { ...WALK_LIMITS, ...options.limits },
  }
  const others = new Set(options.others)
  const found = runSteps(walkWorkspace({ workspace, path: root, others }, deps))
  const shown = found.restricted.map(({ path, level }) => [path.slice(root.length + 1), level])
  return { ...found, shown: Object.fromEntries(shown) as Record<string, string> }
}

export interface WalkOptions {
  access?: 'ro' | 'rw'
  aliases?: readonly string[]
  mounted?: ReadonlyMap<string, readonly string[]>
  disk?: ViewDisk
  isOpened?: (path: string) => boolean
  uptime?: () => number
  limits?: Partial<WalkDeps['limits']>
  others?: readonly string[]
}
