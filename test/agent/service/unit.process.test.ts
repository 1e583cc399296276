import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { formatUnit } from '../../../agent/src/service/unit.ts'
import { BUILT_CLI } from '../../built-programs.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

const VERIFY = '/usr/bin/systemd-analyze'
const MAN = '/usr/bin/man'
const PAGES = ['palisade-agent.8', 'palisade.1'].map((name) => join('agent/man', name))

describe('the unit of the agent', () => {
  it.skipIf(!existsSync(VERIFY)).each(['user', 'system'] as const)(
    'satisfies systemd as a %s unit',
    async (kind) => {
      const folder = await temporaryDirectory()
      const path = join(folder, 'palisade-agent.service')
      const command = [process.execPath, '--x=%$"', '/opt/palisade agent.cjs', 'start']
      await writeFile(path, formatUnit(kind, { command, variables: { PALISADE_DATA_DIR: '/a b' } }))
      await mkdir(join(folder, 'run'))
      const scope = kind === 'user' ? ['--user'] : []

      const verified = spawnSync(VERIFY, [...scope, '--man=no', 'verify', path], {
        encoding: 'utf8',
        env: { ...process.env, XDG_RUNTIME_DIR: join(folder, 'run') },
      })

      expect(verified).toMatchObject({ status: 0, stdout: '', stderr: '' })
    },
  )
})

describe('the manual', () => {
  it.skipIf(!existsSync(MAN)).each(PAGES)('%s has no fault of its format', (page) => {
    const env = { ...process.env, LC_ALL: 'C.UTF-8' }
    const shown = spawnSync(MAN, ['--warnings', '-l', '-Tutf8', page], { encoding: 'utf8', env })

    expect(shown.stderr).toBe('')
    expect(shown.stdout).not.toBe('')
  })

  it('names commands that exist', () => {
    const page = readFileSync('agent/man/palisade.1', 'utf8')
    const named = new Set([...page.matchAll(/palisade ([a-z]+)/g)].map(([, name]) => name))
    const help = execFileSync(process.execPath, [...BUILT_CLI, '--help'], { encoding: 'utf8' })

    expect(named.size).toBeGreaterThan(10)
    for (const name of named) expect(help).toMatch(new RegExp(`^  ${name} `, 'm'))
  })
})
