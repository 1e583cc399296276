import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Updater, type Fetcher } from 'tuf-js'
import { DownloadHTTPError } from 'tuf-js/dist/error.js'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { freshName } from '../fresh-name.ts'
import { atEndOfTests, temporaryDirectory } from '../temporary-directory.ts'
import { enrolTestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { openViewDevice, type ViewDevice } from './view-device.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

describe('the updater of tuf-js', () => {
  let test: TestServer
  let device: ViewDevice
  let directory: string

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    // tuf-js reads the global clock.
    vi.useFakeTimers({ toFake: ['Date'], now: test.now() })
    const { org, as } = await openOrganization()
    const payload = { name: 'web' }
    await test.send('POST', `/v2/orgs/${org}/governance/policies`, { as, payload })
    device = await openViewDevice(test, await enrolTestDevice(test, as, org))
    directory = temporaryDirectory()
    mkdirSync(join(directory, 'targets'))
    await device.timestamp()
    const root = await device.get('metadata/1.root.json')
    writeFileSync(join(directory, 'root.json'), root.rawPayload)
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  async function openOrganization(): Promise<{ readonly org: string; readonly as: string }> {
    const [org, owner] = [freshName('acme'), freshName('alice')]
    const { personal_token } = await test.createOrganization(org, owner)
    return { org, as: await test.signIn(owner, personal_token) }
  }

  function advance(ms: number): void {
    test.advance(ms)
    vi.setSystemTime(test.now())
  }

  /** Fetches only paths below the view, within the announced length. */
  const fetcher: Fetcher = {
    async downloadBytes(url, maxLength) {
      const path = url.slice('http://view/'.length)
      const answer = await device.get(path)
      if (answer.statusCode !== 200) throw new DownloadHTTPError(path, answer.statusCode)
      expect(answer.rawPayload.byteLength).toBeLessThanOrEqual(maxLength)
      return answer.rawPayload
    },
    async downloadFile(url, maxLength, handler) {
      const file = join(directory, 'download')
      writeFileSync(file, await fetcher.downloadBytes(url, maxLength))
      return handler(file)
    },
  }

  async function update(): Promise<{ readonly files: string[] }> {
    const updater = new Updater({
      metadataDir: directory,
      metadataBaseUrl: 'http://view/metadata',
      targetDir: join(directory, 'targets'),
      targetBaseUrl: 'http://view/targets',
      fetcher,
    })
    await updater.refresh()
    const files: string[] = []
    for (const name of Object.keys((await device.targets()).targets)) {
      const target = await updater.getTargetInfo(name)
      if (target === undefined) throw new Error(`${name} is not there`)
      files.push(await updater.downloadTarget(target))
    }
    return { files }
  }

  it('accepts a view with its documents, end to end', async () => {
    expect((await update()).files).toHaveLength(1)
  })

  it('accepts the hourly, daily, monthly and half-yearly renewals', async () => {
    await update()
    const versions: number[] = [(await device.timestamp()).version]

    for (const ms of [HOUR_MS, DAY_MS, 31 * DAY_MS, 184 * DAY_MS, 184 * DAY_MS, HOUR_MS]) {
      advance(ms)
      await update()
      versions.push((await device.timestamp()).version)
    }

    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(new Set(versions).size).toBe(versions.length)
    expect((await device.get('metadata/3.root.json')).statusCode).toBe(200)
    expect((await device.get('metadata/4.root.json')).statusCode).toBe(404)
  })

  it('reaches the newest root from the first one', async () => {
    for (let years = 0; years < 3; years += 0.5) {
      advance(183 * DAY_MS)
      await device.timestamp()
    }

    // The pinned root has expired; it is trusted only to name its successor.
    expect((await update()).files).toHaveLength(1)
  })

  it('trusts a timestamp for a day', async () => {
    await update()
    const kept = await device.get('metadata/timestamp.json')
    const offline: Fetcher = {
      ...fetcher,
      async downloadBytes(url, maxLength) {
        if (url.endsWith('timestamp.json')) return kept.rawPayload
        return fetcher.downloadBytes(url, maxLength)
      },
    }
    const refresh = () =>
      new Updater({
        metadataDir: directory,
        metadataBaseUrl: 'http://view/metadata',
        fetcher: offline,
      }).refresh()

    advance(23 * HOUR_MS)
    await refresh()

    advance(HOUR_MS)
    await expect(refresh()).rejects.toThrow(/expired/)
  })

  it('refuses files signed by another organization', async () => {
    const { org, as } = await openOrganization()
    device = await openViewDevice(test, await enrolTestDevice(test, as, org))
    await device.timestamp()

    await expect(update()).rejects.toThrow(/timestamp was signed by 0\/1 keys/)
  })
})
