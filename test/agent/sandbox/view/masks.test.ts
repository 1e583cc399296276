import { describe, expect, it } from 'vitest'
import { MAX_MASKS, planMasks, reduceHolds } from '../../../../agent/src/sandbox/view/masks.ts'
import type { HeldPath, Hold } from '../../../../agent/src/sandbox/view/held-path.ts'
import type { Workspace } from '../../../../agent/src/sandbox/view/workspace.ts'

const workspace = (path: string, access: 'ro' | 'rw' = 'rw'): Workspace => ({
  path,
  access,
  device: 0,
  inode: 0,
  aliases: [],
  mounted: new Map(),
})
const held = (path: string, hold: Hold, kind: HeldPath['kind'] = 'file'): HeldPath => ({
  path,
  hold,
  kind,
  isDenied: true,
})

describe('the masks', () => {
  it('come after the workspace and the directory that contain them', () => {
    const workspaces = [workspace('/ws'), workspace('/ws/inner', 'ro')]
    const found = [
      held('/ws/b/.env', 'hidden'),
      held('/ws/a', 'hidden', 'directory'),
      held('/ws/b', 'read-only', 'directory'),
      held('/ws/inner/.env', 'hidden'),
    ]

    expect(planMasks(workspaces, reduceHolds(workspaces, found))).toEqual([
      { kind: 'bind', source: '/ws', target: '/ws', access: 'rw' },
      { kind: 'empty-dir', target: '/ws/a' },
      { kind: 'bind', source: '/ws/b', target: '/ws/b', access: 'ro' },
      { kind: 'empty-file', target: '/ws/b/.env' },
      { kind: 'bind', source: '/ws/inner', target: '/ws/inner', access: 'ro' },
      { kind: 'empty-file', target: '/ws/inner/.env' },
    ])
  })

  it('are one for each path, with the strongest hold', () => {
    const found = [held('/ws/a', 'read-only'), held('/ws/a', 'hidden'), held('/ws/a', 'pinned')]

    expect(reduceHolds([workspace('/ws')], found)).toEqual([held('/ws/a', 'hidden')])
  })

  it('are left out below a hidden directory, and outside of every workspace', () => {
    const found = [
      held('/ws/a', 'hidden', 'directory'),
      held('/ws/a/b', 'hidden'),
      held('/ws/ab', 'hidden'),
      held('/other', 'hidden'),
    ]

    expect(reduceHolds([workspace('/ws')], found).map(({ path }) => path)).toEqual([
      '/ws/a',
      '/ws/ab',
    ])
  })

  it('keep a hidden file below a read-only directory', () => {
    const found = [
      held('/ws/a', 'read-only', 'directory'),
      held('/ws/a/b', 'hidden'),
      held('/ws/a/c', 'read-only'),
    ]

    expect(reduceHolds([workspace('/ws')], found).map(({ path }) => path)).toEqual([
      '/ws/a',
      '/ws/a/b',
    ])
  })

  it('refuse a workspace below a hidden directory', () => {
    const workspaces = [workspace('/ws'), workspace('/ws/a/b')]
    const found = reduceHolds(workspaces, [held('/ws/a', 'hidden', 'directory')])

    expect(() => planMasks(workspaces, found)).toThrow(
      'the workspace `/ws/a/b` lies in `/ws/a`, which policy denies',
    )
  })

  it('are refused beyond their number, naming the directory with most of them', () => {
    const workspaces = [workspace('/ws')]
    const many = (count: number): HeldPath[] =>
      Array.from({ length: count }, (_, index) => held(`/ws/keys/${index}`, 'hidden'))

    expect(planMasks(workspaces, many(MAX_MASKS))).toHaveLength(MAX_MASKS + 1)
    expect(() => planMasks(workspaces, [...many(MAX_MASKS), held('/ws/x', 'hidden')])).toThrow(
      'policy denies 201 single paths in the workspaces, and at most 200 can be hidden; most are ' +
        'in `/ws/keys` (200)',
    )
  })
})
