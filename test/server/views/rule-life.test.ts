import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshName } from '../fresh-name.ts'
import { enrolTestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { openViewDevice, type Targets, type ViewDevice } from './view-device.ts'
import { atEndOfTests } from '../temporary-directory.ts'

const EXPIRY = '2026-12-31T18:00:00.000Z'

describe('a signed view', () => {
  let test: TestServer
  let org: string
  let api: string
  let bob: string
  let carl: string
  let owner: string
  /** Ids of two teams; bob is in both, carl in the first. */
  let teams: readonly [string, string]

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    ;[org, bob, carl] = [freshName('acme'), freshName(bob), freshName(carl)]
    api = `/api/v1/orgs/${org}`
    const alice = freshName('alice')
    const { personal_token } = await test.createOrganization(org, alice)
    owner = await test.signIn(alice, personal_token)
    const create = async (name: string) => (await post(`${api}/teams`, { name })).id
    teams = [await create('first'), await create('second')]
    for (const username of [bob, carl]) await post(`${api}/members`, { username, role: 'member' })
    for (const [team, username] of [
      [teams[0], bob],
      [teams[1], bob],
      [teams[0], carl],
    ] as const)
      await test.send('PUT', `${api}/teams/${team}/members/${username}`, { as: owner })
  })

  async function post(url: string, payload: object): Promise<{ id: string }> {
    const response = await test.send('POST', url, { as: owner, payload })
    expect(response.statusCode, response.body).toBe(201)
    return response.json()
  }

  async function patch(url: string, payload: object): Promise<{ revision?: number }> {
    const response = await test.send('PATCH', url, { as: owner, payload })
    expect(response.statusCode, response.body).toBe(200)
    return response.json()
  }

  const enrolled = async (user?: string): Promise<ViewDevice> =>
    openViewDevice(
      test,
      await enrolTestDevice(test, owner, org, user === undefined ? {} : { user }),
    )
  const settingsOf = async (device: ViewDevice) => (await device.targets())['x-settings']
  const customOf = ({ targets }: Targets) => Object.values(targets).map(({ custom }) => custom)

  it('has the support message of the organization until it is taken back', async () => {
    const device = await enrolled()
    const texts: unknown[] = []

    for (const support_message of ['Ask in #network', 'Call 4711', null]) {
      await patch(api, { support_message })
      texts.push((await settingsOf(device)) ?? {})
    }

    expect(texts).toMatchObject([
      { support_message: 'Ask in #network' },
      { support_message: 'Call 4711' },
      expect.not.objectContaining({ support_message: expect.anything() }),
    ])
  })

  it('has the mode of a policy in its target and the expiry of a rule beside it', async () => {
    const { id } = await post(`${api}/policies`, { name: 'trial', mode: 'shadow' })
    const rule = {
      name: 'a',
      actions: ['connect:tcp'],
      decision: 'allow',
      resources: ['a.example'],
    }
    await post(`${api}/policies/${id}/rules`, { ...rule, expires_at: EXPIRY })
    const device = await enrolled()

    const shadowed = await device.targets()

    expect(customOf(shadowed)).toMatchObject([{ mode: 'shadow', schema: 1 }])
    expect(await device.policies()).toEqual([
      expect.not.objectContaining({ mode: expect.anything() }),
    ])
    expect(await device.policies()).toMatchObject([
      { allowlist_v0: { rules: [{ ...rule, expires_at: EXPIRY }] } },
    ])

    await patch(`${api}/policies/${id}`, { mode: 'enforce' })
    const enforced = await device.targets()

    expect(customOf(enforced)).toMatchObject([{ mode: 'enforce' }])
    expect(enforced.version).toBeGreaterThan(shadowed.version)
  })

  it('has no default until one is observed, and is signed anew for each change', async () => {
    const device = await enrolled()
    const first = await device.targets()
    expect(first['x-settings']).not.toHaveProperty('default')

    const { revision } = await patch(api, { default: 'observe' })
    const observing = await device.targets()

    expect(observing['x-settings']).toMatchObject({ default: 'observe', revision })
    expect(observing.version).toBeGreaterThan(first.version)
    await patch(api, { default: null })
    expect(await settingsOf(device)).not.toHaveProperty('default')
  })

  it('computes the default for the teams of its users: enforce wins', async () => {
    const [of, none] = [{ bob: await enrolled(bob), carl: await enrolled(carl) }, await enrolled()]
    const defaults = async () =>
      Promise.all([of.bob, of.carl, none].map(async (d) => (await settingsOf(d))['default']))
    const choose = async (
      organization: string | null,
      first: string | null,
      second: string | null,
    ) => {
      await patch(api, { default: organization })
      await patch(`${api}/teams/${teams[0]}`, { default: first })
      await patch(`${api}/teams/${teams[1]}`, { default: second })
    }

    await choose(null, 'observe', null)
    expect(await defaults()).toEqual(['observe', 'observe', undefined])
    await choose(null, 'observe', 'enforce')
    expect(await defaults()).toEqual([undefined, 'observe', undefined])
    await choose('observe', null, 'enforce')
    expect(await defaults()).toEqual([undefined, 'observe', 'observe'])
    await choose('enforce', 'observe', 'observe')
    expect(await defaults()).toEqual([undefined, undefined, undefined])
  })

  it('says nothing of a default of other teams', async () => {
    const device = await enrolled(carl)
    const before = await device.targets()

    await patch(`${api}/teams/${teams[1]}`, { default: 'observe' })

    const { version, 'x-settings': settings } = await device.targets()
    expect([version, settings]).toEqual([before.version, before['x-settings']])
  })
})
