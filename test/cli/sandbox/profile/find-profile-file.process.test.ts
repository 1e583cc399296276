import { execFileSync } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NAME, find, repository } from './profile-repository.ts'

describe('findProfileFile', () => {
  it('refuses a link, a directory, and a FIFO without waiting for it', async () => {
    const scenes = await Promise.all([repository(), repository(), repository()])
    const [link = '', directory = '', fifo = ''] = scenes.map(({ root }) => join(root, NAME))
    await symlink('/etc/hostname', link)
    await mkdir(directory)
    execFileSync('mkfifo', [fifo])
    const found = await Promise.all(scenes.map(({ root }) => find(root)))
    expect(found.map((each) => (each.kind === 'refused' ? each.why : each))).toEqual([
      'is a symbolic link',
      'is not a regular file',
      'is not a regular file',
    ])
  })
})
