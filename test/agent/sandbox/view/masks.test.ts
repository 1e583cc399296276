import { describe, expect, it } from 'vitest'
import {
  MAX_FIRST_MASKS,
  MAX_MASKS,
  planMasks,
  reduceRestrictions,
} from '../../../../agent/src/sandbox/view/masks.ts'
import type {
  RestrictedPath,
  Restriction,
} from '../../../../agent/src/sandbox/view/path-restriction.ts'
import type { Workspace } from '../../../../agent/src/sandbox/view/workspace.ts'

const workspace = (path: string, access: 'ro' | 'rw' = 'rw'): Workspace => ({
  path,
  access,
  device: 0,
  inode: 0,
  aliases: [],
  mounted: new Map(),
})
const restrict = (
  path: string,
  level: Restriction,
  kind: RestrictedPath['kind'] = 'file',
): RestrictedPath => ({
  path,
  level,
  kind,
  isDenied: true,
})

describe('the masks', () => {
  it('come after the workspace and the directory that contain them', () => {
    const workspaces = [workspace('/ws'), workspace('/ws/inner', 'ro')]
    const found = [
      restrict('/ws/b/.env', 'hidden'),
      restrict('/ws/a', 'hidden', 'directory'),
      restrict('/ws/b', 'read-only', 'directory'),
      restrict('/ws/inner/.env', 'hidden'),
    ]

    expect(planMasks(workspaces, reduceRestrictions(workspaces, found))).toEqual([
      { kind: 'bind', source: '/ws', target: '/ws', access: 'rw' },
      { kind: 'empty-dir', target: '/ws/a' },
      { kind: 'bind', source: '/ws/b', target: '/ws/b', access: 'ro' },
      { kind: 'empty-file', target: '/ws/b/.env' },
      { kind: 'bind', source: '/ws/inner', target: '/ws/inner', access: 'ro' },
      { kind: 'empty-file', target: '/ws/inner/.env' },
    ])
  })

  it('are one for each path, with the strongest hold', () => {
    const found = [
      restrict('/ws/a', 'read-only'),
      restrict('/ws/a', 'hidden'),
      restrict('/ws/a', 'pinned'),
    ]

    expect(reduceRestrictions([workspace('/ws')], found)).toEqual([restrict('/ws/a', 'hidden')])
  })

  it('are left out below a hidden directory, and outside of every workspace', () => {
    const found = [
      restrict('/ws/a', 'hidden', 'directory'),
      restrict('/ws/a/b', 'hidden'),
      restrict('/ws/ab', 'hidden'),
      restrict('/other', 'hidden'),
    ]

    expect(reduceRestrictions([workspace('/ws')], found).map(({ path }) => path)).toEqual([
      '/ws/a',
      '/ws/ab',
    ])
  })

  it('keep a hidden file below a read-only directory', () => {
    const found = [
      restrict('/ws/a', 'read-only', 'directory'),
      restrict('/ws/a/b', 'hidden'),
      restrict('/ws/a/c', 'read-only'),
    ]

    expect(reduceRestrictions([workspace('/ws')], found).map(({ path }) => path)).toEqual([
      '/ws/a',
      '/ws/a/b',
    ])
  })

  it('refuse a workspace below a hidden directory', () => {
    const workspaces = [workspace('/ws'), workspace('/ws/a/b')]
    const found = reduceRestrictions(workspaces, [restrict('/ws/a', 'hidden', 'directory')])

    expect(() => planMasks(workspaces, found)).toThrow(
      'the workspace `/ws/a/b` lies in `/ws/a`, which policy denies',
    )
  })

  it('are left to the guard beyond the first ones', () => {
    const planned = planMasks([workspace('/ws')], many(MAX_MASKS))

    expect(planned).toHaveLength(MAX_FIRST_MASKS + 1)
    expect(planned.at(-1)).toMatchObject({ target: many(MAX_FIRST_MASKS).at(-1)?.path })
  })

  it('are refused beyond their number, naming the directory with most, and why they are', () => {
    const workspaces = [workspace('/ws')]
    const guarded: RestrictedPath = { ...restrict('/ws/x', 'read-only'), isDenied: false }
    const excess = (directory: string) =>
      `2001 single paths in the workspaces are to be held, and at most 2000 can be: ${directory}`

    expect(() => planMasks(workspaces, [...many(MAX_MASKS), guarded])).toThrow(
      excess(
        '2000 that policy denies, and 1 guarded names, repositories and directories above; most ' +
          'are in `/ws/keys` (2000): choose a workspace without them, or ask an editor of the ' +
          'policy to deny `/ws/keys/**`',
      ),
    )
    const names = many(MAX_MASKS).map((each) => ({ ...each, isDenied: false }))
    expect(() => planMasks(workspaces, [...names, restrict('/ws/x', 'hidden')])).toThrow(
      /: 1 that policy denies, and 2000 guarded .* for `allow write` with a pattern that spe/,
    )
  })
})

function many(count: number): RestrictedPath[] {
  return Array.from({ length: count }, (_, index) =>
    restrict(`/ws/keys/${String(index).padStart(4, '0')}`, 'hidden'),
  )
}
