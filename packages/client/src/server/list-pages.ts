import { unexpected } from '../client-error.ts'
import type { AnswerSchema } from '../parse-answer.ts'
import type { Call } from './call.ts'
import { formatQuery } from './server-url.ts'

/** With 100 entries per page, twice the default limit of members of an organization. */
const MAX_PAGES = 2_000

interface ListPage<Entry> {
  readonly data: readonly Entry[]
  readonly next_page_token: string | null
}

/** A list of the server, and the query parameters of every page. */
export interface ListRequest<Entry> {
  readonly path: string
  readonly page: AnswerSchema<ListPage<Entry>>
  readonly query?: Readonly<Record<string, string | undefined>> | undefined
}

/**
 * Every entry of a list, fetched page by page as they are read. Throws `ERR_UNEXPECTED_ANSWER` for
 * an endless list.
 */
export async function* listPages<Entry>(
  call: Call,
  { path, page: schema, query = {} }: ListRequest<Entry>,
): AsyncGenerator<Entry> {
  const seen = new Set<string>()
  let token: string | undefined
  for (;;) {
    const url = path + formatQuery({ ...query, page_token: token })
    const page: ListPage<Entry> = await call({ method: 'GET', path: url }, schema)
    yield* page.data
    if (page.next_page_token === null) return
    token = page.next_page_token
    // A server that repeats a page token would cause an endless loop.
    if (seen.has(token)) throw unexpected('a page token came twice')
    seen.add(token)
    if (seen.size >= MAX_PAGES) throw unexpected(`a list of more than ${MAX_PAGES} pages`)
  }
}

/** Like `listPages`, in one array. */
export async function collectPages<Entry>(
  call: Call,
  list: ListRequest<Entry>,
): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for await (const entry of listPages(call, list)) all.push(entry)
  return all
}
