"""The catalogue of schema plait as text without oids, to compare two databases."""

import asyncpg

SECTIONS = {
    "schema": """
        select format('%s owned by %s: %s', nspname, nspowner::regrole, nspacl::text) from pg_namespace where nspname = 'plait'
    """,
    "types": """
        select format('%s owned by %s: %s %s', t.typname, t.typowner::regrole, t.typtype, t.typacl,
                      (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid))
        from pg_type t where t.typnamespace = 'plait'::regnamespace
    """,
    "relations": """
        select format('%s %s owned by %s, %s, security %s forced %s, persistence %s: %s', c.relkind, c.relname,
                      c.relowner::regrole, c.reloptions, c.relrowsecurity, c.relforcerowsecurity, c.relpersistence, c.relacl::text)
        from pg_class c where c.relnamespace = 'plait'::regnamespace
    """,
    "columns": """
        select format('%s %s %s %s not null %s default %s identity %s generated %s collation %s storage %s: %s %s', c.relname,
                      a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
                      a.attidentity, a.attgenerated, a.attcollation::regcollation, a.attstorage, a.attoptions, a.attacl::text)
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where c.relnamespace = 'plait'::regnamespace and a.attnum > 0
    """,
    "constraints": """
        select format('%s %s: %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated)
        from pg_constraint where connamespace = 'plait'::regnamespace
    """,
    "indexes": """
        select format('%s valid %s', pg_get_indexdef(i.indexrelid), i.indisvalid)
        from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace = 'plait'::regnamespace
    """,
    "policies": """
        select format('%s %s %s %s to %s using %s with check %s', p.polrelid::regclass, p.polname, p.polcmd, p.polpermissive,
                      (select string_agg(r::regrole::text, ', ' order by r::regrole::text) from unnest(p.polroles) r),
                      pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
        from pg_policy p
    """,
    "triggers": """
        select format('%s %s', pg_get_triggerdef(t.oid), t.tgenabled) from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where c.relnamespace = 'plait'::regnamespace and not t.tgisinternal
    """,
    "rules": "select definition from pg_views where schemaname = 'plait'",
    "sequences": """
        select format('%s %s', s.seqrelid::regclass, row(s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache, s.seqcycle))
        from pg_sequence s join pg_class c on c.oid = s.seqrelid where c.relnamespace = 'plait'::regnamespace
    """,
    "functions": """
        select format('%s owned by %s: %s %s', pg_get_functiondef(oid), proowner::regrole, proconfig, proacl::text)
        from pg_proc where pronamespace = 'plait'::regnamespace
    """,
    "default privileges": """
        select format('%s %s %s: %s', defaclrole::regrole, defaclnamespace::regnamespace, defaclobjtype, defaclacl::text)
        from pg_default_acl
    """,
    "comments": "select format('%s %s', classoid::regclass, description) from pg_description where objoid >= 16384",
    "extensions": "select extname from pg_extension",
    "rows": """
        select format('tenant %s %s %s', id, slug, name) from plait.tenants
        union all select format('installed %s %s', version, functions_hash) from plait.installed
        union all select format('definition %s', name) from plait.definitions
    """,
}


async def catalogue(connection: asyncpg.Connection) -> dict[str, list[str]]:
    return {section: sorted(row[0] for row in await connection.fetch(query)) for section, query in SECTIONS.items()}
