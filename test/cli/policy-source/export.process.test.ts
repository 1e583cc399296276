import { execFileSync } from 'node:child_process'
import { stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openCliOrganization } from './organization.ts'

describe('palisade export', () => {
  it('neither waits for nor replaces anything but a regular file', async () => {
    await using organization = await openCliOrganization()
    const { directory, run } = organization
    const pipe = join(directory.path, 'pipe.yaml')
    execFileSync('mkfifo', [pipe])
    await symlink(pipe, join(directory.path, 'link.json'))

    for (const out of ['pipe.yaml', 'link.json'])
      expect(await run(['export', '--out', out])).toEqual({
        code: 2,
        out: '',
        err: `error: ${out}: is not a regular file; name another\n`,
      })
    expect((await stat(pipe)).isFIFO()).toBe(true)
  })
})
