import { expect, it } from 'vitest'
import type { RestrictedPath } from '../../../../agent/src/sandbox/view/path-restriction.ts'
import { pinAncestors } from '../../../../agent/src/sandbox/view/pin-ancestors.ts'
import type { Workspace } from '../../../../agent/src/sandbox/view/workspace.ts'

const workspace = (path: string, access: 'ro' | 'rw' = 'rw'): Workspace => ({
  path,
  access,
  device: 0,
  inode: 0,
  aliases: [],
  mounted: new Map(),
})
const held = (path: string, isDenied = true): RestrictedPath => ({
  path,
  level: 'read-only',
  kind: 'file',
  isDenied,
})
const pinned = (paths: readonly RestrictedPath[], ...workspaces: readonly Workspace[]): string[] =>
  pinAncestors(paths, workspaces).map(({ path }) => path)

it('pins the directories between a writable workspace and a held path', () => {
  expect(pinned([held('/w/a/b/.env'), held('/w/a/.env')], workspace('/w'))).toEqual([
    '/w/a/b',
    '/w/a',
  ])
  expect(pinned([held('/w/a/.env')], workspace('/w', 'ro'))).toEqual([])
})

it('leaves directories of packages to package managers, unless a rule denies a name', () => {
  const path = '/w/node_modules/p/.npmrc'

  expect(pinned([held(path, false)], workspace('/w'))).toEqual([])
  expect(pinned([held(path)], workspace('/w'))).toEqual(['/w/node_modules/p', '/w/node_modules'])
})

it.each(['ro', 'rw'] as const)('pins the directories above an inner workspace: %s', (access) => {
  const inner = workspace('/w/x/y/in', access)

  expect(pinned([], workspace('/w'), inner)).toEqual(['/w/x/y', '/w/x'])
  expect(pinned([held('/w/x/y/in')], workspace('/w'), inner)).toEqual(['/w/x/y', '/w/x'])
  expect(pinned([], workspace('/w', 'ro'), inner)).toEqual([])
})

it('pins through several workspaces, but none of them itself', () => {
  const workspaces = [workspace('/w'), workspace('/w/a/m', 'ro'), workspace('/w/a/m/b/i')]

  expect(pinned([held('/w/a/m/b/i/c/.env')], ...workspaces)).toEqual(['/w/a/m/b/i/c', '/w/a'])
})
