import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { BUILT_CLI } from '../../built-programs.ts'
import { temporaryDirectory } from '../../agent/fixture/temporary-directory.ts'
import { startMachine } from '../proxied-programs/machine.ts'
import { makeScreensPage, showStage, STAGES } from './doctor-screens.ts'

const run = promisify(execFile)

/** The lines of the built `palisade doctor` about sandboxes, after `change` of the machine. */
async function examine(change: string): Promise<string> {
  const machine = await startMachine()
  await chmod(machine.env['PALISADE_AGENT_SOCKET'] ?? '', 0o600)
  // Without programs to examine, which takes long.
  const script = `${change} && PATH=/nonexistent exec "$@"`
  const words = [process.execPath, ...BUILT_CLI, 'doctor']
  const namespaces = ['--user', '--map-root-user', '--mount', '--propagation', 'private']
  const { stdout } = await run(
    'unshare',
    [...namespaces, '--', 'sh', '-ec', script, 'sh', ...words],
    {
      env: { ...machine.env, PATH: '/usr/bin:/bin:/usr/sbin:/sbin' },
    },
  ).catch((error: unknown) => error as { readonly stdout: string })
  return linesOf(stdout)
}

/** Without the columns, whose width depends on all lines. */
function linesOf(text: string): string {
  const about = /^\w+ +(?:sandbox|bubblewrap|namespaces) /
  const lines = text.split('\n')
  return lines
    .filter(
      (line, at) => about.test(line) || (/^ +mend: /.test(line) && about.test(lines[at - 1] ?? '')),
    )
    .map((line) => line.trim().replaceAll(/ {2,}/g, '  '))
    .join('\n')
}

async function staged(title: string): Promise<string> {
  const stage = STAGES.find((each) => each.title === title)
  if (stage === undefined) throw new Error(`no stage is called ${title}`)
  return linesOf(await showStage(stage))
}

describe('the screens of palisade doctor', () => {
  it('are those of the documentation', async () => {
    await expect(await makeScreensPage()).toMatchFileSnapshot('../../../docs/doctor-screens.md')
  })

  it('are real where bubblewrap is not installed', async () => {
    // A file that cannot be executed is as good as none.
    const real = await examine('mount --bind /dev/null /usr/bin/bwrap')

    expect(real).toBe(await staged('bubblewrap is not installed'))
  }, 300_000)

  it('are real where bubblewrap is too old', async () => {
    const old = join(await temporaryDirectory(), 'bwrap')
    await writeFile(old, '#!/bin/sh\necho bubblewrap 0.6.2\n', { mode: 0o755 })

    expect(await examine(`mount --bind ${old} /usr/bin/bwrap`)).toBe(
      await staged('bubblewrap is too old'),
    )
  }, 300_000)

  it('are real where user namespaces are off', async () => {
    const [bubblewrap = '', ...others] = (
      await examine('echo 0 >/proc/sys/user/max_user_namespaces')
    ).split('\n')

    expect(bubblewrap).toMatch(/^ok {2}bubblewrap/)
    expect((await staged('User namespaces are off')).split('\n').slice(1)).toEqual(others)
  }, 300_000)
})
