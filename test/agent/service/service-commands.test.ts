import { existsSync } from 'node:fs'
import { appendFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'
import { startMachine } from './service-machine.ts'

describe('palisade-agent install', () => {
  it('writes the unit and the manual, and names the commands that come next', async () => {
    const { home, run, unit, files } = await startMachine()

    const printed = await run('install', '--user')

    for (const file of files) expect(printed).toContain(`wrote      ${file}\n`)
    expect(printed).toContain('systemctl --user enable --now palisade-agent\n')
    const text = await readFile(unit, 'utf8')
    expect(text).toContain('ExecStart="/opt/node" "/opt/palisade-agent.cjs" "start"\n')
    expect(text).toContain(`Environment="PALISADE_DATA_DIR=${home}/.local/share/palisade"\n`)
  })

  it('changes nothing the second time, and brings an outdated unit up to date', async () => {
    const { run, unit } = await startMachine()
    await run('install', '--user')

    expect(await run('install', '--user')).toContain(`unchanged  ${unit}\n`)
    expect(await run('install', '--user', '--data-dir', 'other')).toContain(`wrote      ${unit}\n`)
    expect(await readFile(unit, 'utf8')).toContain('/other"')
  })

  it('leaves a changed unit alone, and writes no other file then', async () => {
    const { run, unit, files } = await startMachine()
    await mkdir(join(unit, '..'), { recursive: true })
    await writeFile(unit, '[Service]\nExecStart=/mine\n')

    await expect(run('install', '--user')).rejects.toMatchObject({
      code: 'ERR_SERVICE',
      message: expect.stringContaining('systemctl edit'),
    })
    expect(await readFile(unit, 'utf8')).toBe('[Service]\nExecStart=/mine\n')
    expect(files.filter(existsSync)).toEqual([unit])
  })

  it('prints the files with --print and writes none', async () => {
    const { run, files } = await startMachine({ isSystemdRunning: false })

    expect(await run('install', '--user', '--print')).toContain(`==> ${files[0]}\n`)
    const shared = await run('install', '--system', '--print')
    expect(shared).toContain('==> /etc/systemd/system/palisade-agent.service\n')
    expect(shared).toContain('Environment="PALISADE_USERS=all"\n')
    expect(files.filter(existsSync)).toEqual([])
  })

  it('prints the unit and fails where systemd does not run', async () => {
    const printed: string[] = []
    const print = (text: string) => void printed.push(text)
    const { run, files } = await startMachine({ isSystemdRunning: false, print })

    await expect(run('install', '--user')).rejects.toThrow('systemd does not run this machine')
    expect(printed.join('')).toContain('[Service]\n')
    expect(files.filter(existsSync)).toEqual([])
  })

  it.each([
    [['install', ''], 'either `--user` or `--system`'],
    [['install', '--user', '--system'], 'either `--user` or `--system`'],
    [['install', '--system', '--data-dir', 'x'], '/var/lib/palisade'],
    [['install', '--system'], 'run this as root'],
    [['uninstall', '--system'], 'run this as root'],
  ])('refuses %j', async ([name = '', ...words], why) => {
    const { run } = await startMachine()

    await expect(run(name, ...words)).rejects.toThrow(why)
  })

  it('refuses a program that another user than root could replace', async () => {
    const folder = await temporaryDirectory()
    const program = join(folder, 'palisade-agent.cjs')
    await writeFile(program, '')
    // The directory for temporary files, above it, is open to every user.
    const { run } = await startMachine({ uid: 0, command: [program, 'start'] })

    await expect(run('install', '--system')).rejects.toThrow('that others can replace')
  })

  it('starts the program itself as root, not a link that another user could turn', async () => {
    const link = join(await temporaryDirectory(), 'palisade-agent')
    await symlink('/bin/sh', link)
    const { run } = await startMachine({ uid: 0, command: [link, '--v8-pool-size=1', 'start'] })

    const printed = await run('install', '--system', '--print')

    expect(printed).not.toContain(link)
    expect(printed).toMatch(/^ExecStart="\/(usr\/)?bin\/\w+" "--v8-pool-size=1" "start"$/m)
  })

  it('refuses options of Node, which may load a program of another user', async () => {
    const command = ['/bin/sh', '--v8-pool-size=1', '--import=file:///home/dev/module.mjs', 'start']
    const { run } = await startMachine({ uid: 0, command })

    await expect(run('install', '--system')).rejects.toThrow('--import=file:///home/dev')
  })
})

describe('palisade-agent uninstall', () => {
  it('removes what was installed, leaves the data, and may be repeated', async () => {
    const { home, run, files } = await startMachine()
    await run('install', '--user')
    const data = join(home, '.local/share/palisade/agent')
    await mkdir(data, { recursive: true })

    const printed = await run('uninstall', '--user')

    expect(files.filter(existsSync)).toEqual([])
    expect(printed).toContain(`kept       ${data}\n`)
    expect(printed).toContain('systemctl --user disable --now palisade-agent\n')
    expect(await run('uninstall', '--user')).toContain('nothing was installed')
    expect(existsSync(data)).toBe(true)
  })

  it('leaves a changed unit', async () => {
    const { run, unit } = await startMachine()
    await run('install', '--user')
    await appendFile(unit, 'Environment=A=1\n')

    await expect(run('uninstall', '--user', '--purge')).rejects.toThrow('remove it yourself')
    expect(existsSync(unit)).toBe(true)
  })

  it('purges no directory of another kind, such as that of a project', async () => {
    const { home, run } = await startMachine()
    const source = join(home, 'project/agent/source.ts')
    await mkdir(join(source, '..'), { recursive: true })
    await writeFile(source, '')

    await expect(
      run('uninstall', '--user', '--data-dir', 'project', '--purge'),
    ).rejects.toMatchObject({
      code: 'ERR_SERVICE',
      message: expect.stringContaining('not the data'),
    })
    expect(existsSync(source)).toBe(true)
  })

  it('purges no directory behind a link', async () => {
    const { home, run } = await startMachine()
    await mkdir(join(home, 'data'))
    await mkdir(join(home, 'other'), { mode: 0o700 })
    await symlink(join(home, 'other'), join(home, 'data/agent'))

    await expect(run('uninstall', '--user', '--data-dir', 'data', '--purge')).rejects.toMatchObject(
      { code: 'ERR_SERVICE' },
    )
    expect(existsSync(join(home, 'other'))).toBe(true)
  })
})
