{% materialization continuous_table, adapter='spark' %}
  {%- set known = load_cached_relation(this) -%}
  {{ run_hooks(pre_hooks) }}
  {%- if known is not none and should_full_refresh() -%}
    {% call statement('drop') %} DROP CONTINUOUS TABLE {{ this }} {% endcall %}
    {%- set known = none -%}
  {%- endif -%}
  {% call statement('main') %}
    {{ 'ALTER' if known is not none else 'CREATE' }} CONTINUOUS TABLE {{ this }}
    {{ config.get('clauses', '') if known is none }} AS {{ sql }}
  {% endcall %}
  {%- if known is not none -%}
    {% call statement('resume') %} RESUME CONTINUOUS TABLE {{ this }} {% endcall %}
  {%- endif -%}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [this.incorporate(type='table')]}) }}
{% endmaterialization %}
