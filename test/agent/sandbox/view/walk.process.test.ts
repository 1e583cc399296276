import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { RuleLine } from '../../fixture/bundle.ts'
import { tree, walk } from './walk-scene.ts'

describe('the walk', () => {
  it('case 93: passes FIFOs, sockets and devices without opening them', async () => {
    const root = await tree('a/.env')
    spawnSync('mkfifo', [join(root, 'a/fifo'), join(root, 'a/secret.fifo')])
    const rules: RuleLine[] = [['deny', 'read', `${root}/**/.env`, `${root}/**/secret.*`]]

    expect(walk(root, rules).shown).toEqual({ 'a/.env': 'hidden', 'a/secret.fifo': 'hidden' })
  })
})
