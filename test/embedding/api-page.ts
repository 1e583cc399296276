import { pathToFileURL } from 'node:url'
import { format } from 'prettier'
import { readDeclarations, type ApiDeclaration } from './declarations.ts'
import { packageFolder, withPeers, type PublishedPackage } from './package-files.ts'

const CHAPTERS: readonly (readonly [title: string, kind: ApiDeclaration['kind']])[] = [
  ['Functions', 'function'],
  ['Errors', 'class'],
  ['Constants', 'constant'],
  ['Types', 'type'],
]

/** Reads the exports of a package, in the order of its index. */
export function readPackage(name: PublishedPackage): ApiDeclaration[] {
  return readDeclarations(pathToFileURL(`${packageFolder(name)}src/index.ts`))
}

/** Formats the API page of a package from the docstrings of its sources. */
export async function makeApiPage(
  name: PublishedPackage,
  declarations = readPackage(name),
): Promise<string> {
  const chapters = CHAPTERS.map(([title, kind]) => ({
    title,
    entries: declarations.filter((declaration) => declaration.kind === kind),
  })).filter(({ entries }) => entries.length > 0)
  const links = linksTo(chapters.flatMap(({ title, entries }) => [{ name: title }, ...entries]))
  const contents = chapters.map(
    ({ title, entries }) => `- ${title}: ${entries.map((entry) => links.get(entry)).join(', ')}`,
  )
  const text = [
    `# API of @palisade/${name}`,
    '<!-- made from the docstrings in `src` by test/embedding; do not edit -->',
    'Everything that the package exports. ' +
      'The [README](../README.md) has examples, guarantees and limits.',
    ...withPeers(name)
      .filter((peer) => peer !== name)
      .map((peer) => `Types without a link are those of \`@palisade/${peer}\`.`),
    contents.join('\n'),
    ...chapters.flatMap(({ title, entries }) => [
      `## ${title}`,
      ...entries.flatMap((entry) => describe(entry, links)),
    ]),
  ].join('\n\n')
  return format(text, { parser: 'markdown', singleQuote: true, semi: false, printWidth: 100 })
}

type Links = ReadonlyMap<Heading, string>
type Heading = Pick<ApiDeclaration, 'name'>

/** Links to headings in page order: a repeated anchor gets the suffix `-1`, and so on. */
function linksTo(headings: readonly Heading[]): Links {
  const seen: string[] = []
  return new Map(
    headings.map((heading) => {
      const slug = heading.name.toLowerCase()
      const earlier = seen.filter((other) => other === slug).length
      seen.push(slug)
      return [heading, `[\`${heading.name}\`](#${slug}${earlier === 0 ? '' : `-${earlier}`})`]
    }),
  )
}

function describe({ name, doc, signature, mentions }: ApiDeclaration, links: Links): string[] {
  const linked = [...links].filter(
    ([heading]) => 'signature' in heading && mentions.includes(heading.name),
  )
  return [
    `### ${name}`,
    doc,
    `\`\`\`ts\n${signature}\n\`\`\``,
    ...(linked.length > 0 ? [`See ${linked.map(([, link]) => link).join(', ')}.`] : []),
  ]
}
