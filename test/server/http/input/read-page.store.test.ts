import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestServer } from '../../test-server.ts'
import { PAGED_LISTS, type PagedScene } from './paged-lists.ts'

interface Page {
  readonly data: Record<string, string>[]
  readonly next_page_token: string | null
}

describe.each(PAGED_LISTS)('the list of $name', (list) => {
  const ends: (() => void | Promise<void>)[] = []
  let scene: PagedScene
  let added = 0

  beforeAll(async () => {
    const test = await openTestServer((end) => ends.unshift(end))
    const tokens = new Map<string, string>()
    for (const [org, owner] of [
      ['acme', 'alice'],
      ['rival', 'rita'],
    ] as const)
      tokens.set(owner, (await test.createOrganization(org, owner)).personal_token)
    const [alice, rita] = await Promise.all(
      ['alice', 'rita'].map((name) => test.signIn(name, tokens.get(name) ?? '')),
    )
    scene = { test, alice: alice ?? '', rita: rita ?? '' }
    for (let index = 0; index < 5; index += 1) await add()
  })
  afterAll(async () => {
    for (const end of ends) await end()
  })

  async function add(): Promise<void> {
    await list.add(scene, added)
    added += 1
  }

  const send = (query: Record<string, string> | string = {}, as = scene.alice, url = list.url) => {
    const text = typeof query === 'string' ? query : new URLSearchParams(query).toString()
    return scene.test.send('GET', `${url}?${text}`, { as })
  }

  async function page(query: Record<string, string>): Promise<Page> {
    const answer = await send(query)
    expect(answer.statusCode, answer.body).toBe(200)
    return answer.json<Page>()
  }

  /** Reads every key, page by page; `between` runs after each page. */
  async function walk(
    page_size: string,
    between: (keys: readonly string[]) => Promise<void> = async () => undefined,
  ): Promise<string[]> {
    const keys: string[] = []
    let query: Record<string, string> = { page_size }
    for (;;) {
      const { data, next_page_token } = await page(query)
      keys.push(...data.map(list.keyOf))
      if (next_page_token === null) return keys
      query = { page_size, page_token: next_page_token }
      await between(keys)
    }
  }

  async function firstToken(): Promise<string> {
    return (await page({ page_size: '1' })).next_page_token ?? ''
  }

  it.each(['1', '2', '4', '5', '100'])(
    'has no gap and no repetition with %s entries a page',
    async (size) => {
      const { data, next_page_token } = await page({})

      expect(next_page_token).toBeNull()
      expect(data.length).toBeGreaterThanOrEqual(5)
      expect(await walk(size)).toEqual(data.map(list.keyOf))
    },
  )

  it.each(['0', '101', '1000000000', '99999999999999999999999'])(
    'is complete for a page_size of %s, which means 100',
    async (page_size) => {
      expect(await page({ page_size })).toEqual(await page({}))
    },
  )

  it.each([
    ['page_size=-1', 'page_size'],
    ['page_size=1e9', 'page_size'],
    ['page_size=1.5', 'page_size'],
    ['page_size=abc', 'page_size'],
    ['page_size=', 'page_size'],
    ['page_size=1&page_size=1', 'page_size'],
    ['page_token=', 'page_token'],
    ['page_token=AAAA', 'page_token'],
    ['page_token=%00', 'page_token'],
    [`page_token=${'A'.repeat(8_000)}`, 'page_token'],
    ['page_token=AAAA&page_token=AAAA', 'page_token'],
    ['cursor=AAAA', 'cursor'],
  ])('refuses ?%.40s', async (query, field) => {
    const answer = await send(query)

    expect(answer.statusCode, answer.body).toBe(400)
    expect(answer.json().error).toMatchObject({ code: 'invalid_argument', field })
  })

  it('refuses an altered page token', async () => {
    const token = await firstToken()
    const bytes = Buffer.from(token, 'base64url')
    const flipped = [0, 15, 16, bytes.length - 1].map((index) => {
      const copy = Buffer.from(bytes)
      copy[index] = (copy[index] ?? 0) ^ 1
      return copy.toString('base64url')
    })

    for (const page_token of [...flipped, `${token}=`, `${token}A`, token.slice(0, -1)])
      expect((await send({ page_token })).statusCode, page_token).toBe(400)
    expect((await send({ page_token: token })).statusCode).toBe(200)
  })

  it('refuses the page token of another owner', async () => {
    const page_token = await firstToken()

    const foreign = await send({ page_token }, scene.rita, list.foreignUrl)

    expect(foreign.statusCode).toBe(400)
    expect((await send({}, scene.rita, list.foreignUrl)).statusCode).toBe(200)
  })

  it('reveals nothing about a page token to a caller without access', async () => {
    const page_token = await firstToken()

    const answers = await Promise.all(
      [page_token, 'AAAA'].map((each) => scene.test.send('GET', `${list.url}?page_token=${each}`)),
    )

    expect(answers.map(({ statusCode }) => statusCode)).toEqual([401, 401])
  })

  it.skipIf(list.remove === undefined)(
    'continues at the same position when the last row of a page is removed',
    async () => {
      const before = (await page({})).data.map(list.keyOf)
      // Near the end, so that the scene's own entries stay.
      const gone = before.at(-3) ?? ''
      let isGone = false

      const seen = await walk('1', async (keys) => {
        if (keys.at(-1) !== gone || isGone) return
        isGone = true
        await list.remove?.(scene, gone)
      })

      expect(isGone).toBe(true)
      expect(seen).toEqual(before)
      expect((await page({})).data.map(list.keyOf)).toEqual(before.filter((key) => key !== gone))
      await add()
    },
  )

  it.skipIf(list.remove === undefined)(
    'repeats and skips no other entry while one is added and one removed',
    async () => {
      const before = (await page({})).data.map(list.keyOf)
      const gone = before.at(-1) ?? ''
      let isChanged = false

      const seen = await walk('2', async () => {
        if (isChanged) return
        isChanged = true
        await list.remove?.(scene, gone)
        await add()
      })

      expect(new Set(seen).size).toBe(seen.length)
      const stayed = before.filter((key) => key !== gone)
      expect(seen.filter((key) => stayed.includes(key))).toEqual(stayed)
      expect(seen).not.toContain(gone)
    },
  )
})

describe('a page token', () => {
  it('is refused by every other list', async () => {
    const test = await openTestServer()
    const owned = await test.createOrganization('acme', 'alice')
    const { personal_token } = await test.createOrganization('rival', 'rita')
    const alice = await test.signIn('alice', owned.personal_token)
    const scene = { test, alice, rita: await test.signIn('rita', personal_token) }
    const tokens = new Map<string, string>()
    for (const list of PAGED_LISTS) {
      await list.add(scene, 0)
      await list.add(scene, 1)
      const answer = await test.send('GET', `${list.url}?page_size=1`, { as: alice })
      tokens.set(list.name, answer.json<Page>().next_page_token ?? '')
    }

    for (const list of PAGED_LISTS)
      for (const [name, token] of tokens) {
        const answer = await test.send('GET', `${list.url}?page_token=${token}`, { as: alice })
        expect(answer.statusCode, `${name} in ${list.name}`).toBe(name === list.name ? 200 : 400)
      }
  })
})
