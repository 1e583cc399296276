/** The text of `--help`. */
export const HELP = `usage: npm run bench -- [SUBJECT] [--quick] [--only GROUP]
       npm run bench -- replay [--quick]
       npm run bench -- fleet [--agents N] [--minutes M]

Without a subject, measures how long a decision takes, beside \`Map.get\` and other matchers. Tables
and goals go to standard output, progress to standard error. A full run replaces the figures in
bench/results.

subjects:
  (none)     decisions, compilation, memory; ten minutes; hosts, addresses, paths, connect, compile,
             organization, worst
  server     requests beside a bare server, start, memory, publishing, proofs, ingest of
             decision records, a bystander of hostile loads; seventeen minutes; requests, start,
             large, agents, publish, proofs, evidence, hostile
  agent      start, memory and processor time at rest, decisions during updates, tunnels beside
             other proxies, local API, start of \`palisade\`; eleven minutes; start, rest, updates,
             tunnels, local-api, client
  sandbox    start of \`palisade run\` beside other sandboxes, requests inside, large workspaces,
             masks, memory; four minutes; start, requests, large, masks, many
  hints      how soon 1,000 agents enforce a change; nine minutes; changes, waiting
  evidence   polls beside uploads of decision records, the share of a fleet's uploads, queries of
             ten million records; twenty minutes; polls, share, audit
  replay     decisions of 10,000,000 recorded requests anew, beside a bare scan of them; ten minutes
  fleet      100,000 agents through a change and an outage; half an hour

  --quick        a short run, at most a minute for decisions, that only checks that all works
  --only GROUP   one of the groups above; writes no results
  --agents N     1 to 1000000 (100000)
  --minutes M    1 to 600 (28)
  --help         print this text

examples:
  npm run bench -- --only hosts
  npm run bench -- server --only publish
  npm run bench -- fleet --agents 2000 --minutes 5

bench/README.md explains the measurements and the tables.
`
