import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openLogFile } from '../../../packages/launcher/process/log-file.mjs'
import { startService } from '../../../packages/launcher/process/service.mjs'
import { canFillDisks, fillDisk, mountSmallDisk } from '../../agent/fixture/small-disk.ts'

describe('the log of a service', () => {
  it('drops lines that cannot be written, and the service keeps running', async () => {
    const records: unknown[] = []
    const service = startService({
      name: 'talker',
      node: process.execPath,
      args: ['-e', `console.log('{"n":1}'); console.error('said'); console.log('{"n":2}')`],
      cwd: '/',
      env: {},
      logFile: '/dev/full',
      onRecord: (record) => records.push(record),
    })

    expect(await service.exited).toBe(0)
    expect(records).toEqual([{ n: 1 }, { n: 2 }])
    expect(service.complaint()).toBe('said')
  })

  it.runIf(canFillDisks())('reports a loss once, as soon as it can write again', async () => {
    const disk = mountSmallDisk()
    const path = join(disk, 'service.log')
    const ballast = join(disk, 'ballast')
    const log = openLogFile(path)
    log.write('{"n":1}\n')
    fillDisk(ballast, 0)
    for (let page = 0; page < 4; page += 1) log.write('x'.repeat(4_096))

    rmSync(ballast)
    log.write('{"n":2}\n')
    log.write('{"n":3}\n')
    log.close()

    const lines = readFileSync(path, 'utf8').trim().split('\n')
    const reports = lines.filter((line) => line.includes('lost_bytes'))
    expect(reports).toHaveLength(1)
    expect(JSON.parse(reports[0] ?? '')).toMatchObject({ level: 40, part: 'launcher' })
    expect(lines[0]).toBe('{"n":1}')
    expect(lines.slice(-2)).toEqual(['{"n":2}', '{"n":3}'])
  })
})
